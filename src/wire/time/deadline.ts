/** At the latest after `milliseconds`, which keep the process alive. @returns whether `work` has settled */
export async function withDeadline(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, milliseconds, false);
  const settled = () => true;
  const result = await Promise.race([work.then(settled, settled), late]);
  clearTimeout(timer);
  return result;
}
