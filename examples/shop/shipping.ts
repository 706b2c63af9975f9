import { category } from 'opentelemetry-instrumentation-rdcp/api';
import type { Database } from './database.ts';
import type { Random } from './random.ts';

const QUEUE = category('QUEUE', {
  description: 'Parcels: queued, handed to the carrier, refused by it and tried again',
});

const TICK_MS = 1000;
const PARCELS_PER_TICK = 5;
const CARRIER_FAILURE_RATE = 0.15;

export interface Shipping {
  /** Call it in the transaction of the order: an order and its parcel exist together or not at all. */
  queue(orderId: number): void;
  stop(): void;
}

export function startShipping(database: Database, random: Random): Shipping {
  function handOver(orderId: number, attempts: number): void {
    if (random() < CARRIER_FAILURE_RATE) {
      database.run('UPDATE parcels SET attempts = attempts + 1 WHERE order_id = ?', orderId);
      QUEUE.debug('carrier refused, will try again', { 'shop.order': orderId, 'shop.attempts': attempts + 1 });
      return;
    }
    database.transaction(() => {
      database.run("UPDATE orders SET state = 'shipped' WHERE id = ?", orderId);
      database.run('DELETE FROM parcels WHERE order_id = ?', orderId);
    });
    QUEUE.debug('shipped', { 'shop.order': orderId, 'shop.attempts': attempts + 1 });
  }

  const timer = setInterval(() => {
    QUEUE.span('ship', () => {
      const parcels = database.all(
        'SELECT order_id, attempts FROM parcels ORDER BY order_id LIMIT ?',
        PARCELS_PER_TICK,
      );
      for (const parcel of parcels) handOver(Number(parcel.order_id), Number(parcel.attempts));
    });
  }, TICK_MS);

  return {
    queue(orderId) {
      database.run('INSERT INTO parcels (order_id) VALUES (?)', orderId);
      QUEUE.debug('queued', { 'shop.order': orderId });
    },
    stop: () => clearInterval(timer),
  };
}
