import assert from 'node:assert/strict';
import { test } from 'node:test';
import { category } from '../../src/api.ts';

interface Order {
  readonly id: number;
  readonly customer?: Customer;
}

interface Customer {
  readonly name: string;
  then?: string;
}

class Basket {
  readonly items = [1];
  total(): number {
    return this.items.length;
  }
}

function generic<T extends object>(value: T): void {
  category('TYPES').debug('generic', value);
  category('TYPES').debug('generic', () => value);
}

// What compiles here is the test: the checks of the project compile every test.
test('the types take whatever a person would log, and refuse what cannot work', () => {
  const types = category('TYPES');
  const order: Order = { id: 1 };
  const customer: Customer = { name: 'Ada' };
  const caught: unknown = new Error('caught');
  types.debug('literal', {
    a: 1,
    err: caught,
    date: new Date(),
    big: 1n,
    order,
    customer,
    basket: new Basket(),
    f: () => 1,
  });
  types.debug('interface', order);
  types.debug('interface', () => order);
  types.debug('a field named then', customer);
  types.debug('class', new Basket());
  types.debug('error', new Error('boom'));
  types.debug('nothing', undefined);
  types.debug('either', Math.random() > 2 ? order : { other: caught });
  generic(order);
  // @ts-expect-error attributes are needed at once
  types.debug('asynchronous', async () => order);
  // @ts-expect-error attributes are needed at once
  types.debug('promise', Promise.resolve(order));
  // @ts-expect-error a message is a string
  types.debug(order);
  // @ts-expect-error attributes have names
  types.debug('text', 'text');
  types.span('span', (span) => {
    span?.setAttribute('rows', 1);
    // @ts-expect-error a span takes what OpenTelemetry takes
    span?.setAttribute('order', order);
  });
  assert.equal(types.enabled, false);
});
