import { PRODUCTS } from './catalogue.ts';
import { CUSTOMERS, type Customers } from './customers.ts';
import { pick, type Random } from './random.ts';

/** What customers do, and which answers are right. 409 (sold out, or over the credit limit) and 502 (no price to be had) are part of a shop's day. */
const HABITS = {
  order: { post: true, status: [201, 409, 502] },
  list: { post: false, status: [200] },
  'order what is not sold': { post: true, status: [404] },
  'come with a false token': { post: false, status: [401] },
} as const;

type Habit = keyof typeof HABITS;

function pickHabit(random: Random): Habit {
  const chance = random();
  if (chance < 0.6) return 'order';
  if (chance < 0.9) return 'list';
  return chance < 0.95 ? 'order what is not sold' : 'come with a false token';
}

export interface Tally {
  requests: number;
  ordersAccepted: number;
  /** Answers that no habit allows, and requests without any: empty in a healthy shop. */
  surprises: string[];
}

export interface Traffic {
  readonly tally: Tally;
  /** Sends nothing more, and waits for the answers that are still to come. */
  stop(): Promise<void>;
}

/** The customers of this example: a few requests a second, in an order that the seed decides. */
export function startTraffic(parts: {
  baseUrl: string;
  customers: Customers;
  random: Random;
  perSecond: number;
}): Traffic {
  const { baseUrl, customers, random, perSecond } = parts;
  const tally: Tally = { requests: 0, ordersAccepted: 0, surprises: [] };
  const running = new Set<Promise<void>>();

  async function act(habit: Habit, customer: string): Promise<void> {
    const { post, status } = HABITS[habit];
    const token = habit === 'come with a false token' ? 'not.a.token' : await customers.issue(customer);
    const sku = habit === 'order what is not sold' ? 'coffee' : pick(random, PRODUCTS).sku;
    const order = { sku, quantity: 1 + Math.floor(random() * 4) };
    const response = await fetch(`${baseUrl}/orders`, {
      // The customer's number is a header as well, which 'rdcp tail -m http.request.header.x-customer=42' needs no code for.
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'X-Customer': customer },
      signal: AbortSignal.timeout(10_000),
      ...(post && { method: 'POST', body: JSON.stringify(order) }),
    });
    await response.arrayBuffer();
    if (response.status === 201) tally.ordersAccepted++;
    if (!status.some((right) => right === response.status)) tally.surprises.push(`${habit}: ${response.status}`);
  }

  const timer = setInterval(() => {
    tally.requests++;
    const habit = pickHabit(random);
    const action = act(habit, pick(random, CUSTOMERS))
      .catch((error) => void tally.surprises.push(`${habit}: ${error}`))
      .finally(() => running.delete(action));
    running.add(action);
  }, 1000 / perSecond);

  return {
    tally,
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
    },
  };
}
