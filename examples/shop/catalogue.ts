import type { Database } from './database.ts';

/** What the shop sells, and the list price that the price service starts from. */
export const PRODUCTS = [
  { sku: 'tea-assam', name: 'Assam, 250 g', cents: 890 },
  { sku: 'tea-sencha', name: 'Sencha, 100 g', cents: 1290 },
  { sku: 'tea-mint', name: 'Mint, 50 g', cents: 450 },
  { sku: 'pot-iron', name: 'Iron pot, 0.8 l', cents: 5900 },
  { sku: 'cup-stone', name: 'Stone cup', cents: 1450 },
  { sku: 'scale-fine', name: 'Scale, 0.1 g', cents: 3400 },
] as const;

const FULL_SHELF = 40;

export function listPrice(sku: string): number | undefined {
  return PRODUCTS.find((product) => product.sku === sku)?.cents;
}

/** Puts every product on its shelf; what a database file already holds stays as it is. */
export function stock(database: Database): void {
  for (const { sku, name } of PRODUCTS) {
    database.run(
      'INSERT INTO products (sku, name, stock) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      sku,
      name,
      FULL_SHELF,
    );
  }
}

/** Fills the shelves that run low. */
export function restock(database: Database): number {
  return database.run('UPDATE products SET stock = ? WHERE stock < 5', FULL_SHELF);
}
