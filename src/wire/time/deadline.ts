/**
 * Resolves when `work` settles, at the latest after `milliseconds`. Until then it keeps the process alive.
 * @returns whether it has settled
 */
export async function withDeadline(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, milliseconds, false);
  const settled = () => true;
  const result = await Promise.race([work.then(settled, settled), late]);
  clearTimeout(timer);
  return result;
}
