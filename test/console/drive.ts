import type { Page } from 'playwright-core';

// What a person does on the page, by what a person sees.

/** Types a credential, and waits for the categories. */
export async function signIn(page: Page, credential: string): Promise<void> {
  await typeCredential(page, credential);
  await page.getByRole('grid', { name: 'Categories' }).waitFor();
}

export async function typeCredential(page: Page, credential: string): Promise<void> {
  await page.locator('#credential').fill(credential);
  await page.keyboard.press('Enter');
}

/** The row of a category. */
export function rowOf(page: Page, category: string) {
  return page.locator(`[role=row][data-name="${category}"]`);
}

/**
 * Switches a category on for the time that is proposed, and resolves with what the page says about it.
 * @param filledIn called before it is sent
 */
export async function enable(page: Page, category: string, reason: string, filledIn = () => {}): Promise<string> {
  await page.getByRole('button', { name: `Enable ${category}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  filledIn();
  await dialog.getByRole('button', { name: /^Enable/ }).click();
  await dialog.waitFor({ state: 'detached' });
  return (await page.getByRole('region', { name: 'Answers' }).locator('.toast').last().textContent()) ?? '';
}

/** Waits until the row of a category says that it is on, off, or on for some tenants. */
export async function waitForState(page: Page, category: string, state: 'On' | 'Off' | 'Partly'): Promise<void> {
  await rowOf(page, category).locator('.cell.state', { hasText: state }).waitFor();
}

/** Goes to a view without a new page: the credential is in memory. */
export async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate((target) => {
    location.hash = target;
  }, hash);
}
