/** Resolves when `work` settles, at the latest after `milliseconds`. Until then it keeps the process alive. */
export async function withDeadline(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
