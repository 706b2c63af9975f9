/** The events of the process that are followed. */
export type Host = Pick<NodeJS.Process, 'on' | 'off' | 'listeners'>;

/** On listeners of ours. Other copies of this package in the process recognize it. */
const OURS = Symbol.for('opentelemetry-instrumentation-rdcp.rejections');

/**
 * Follows the exceptions and rejections that the application does not catch, each in its async context. What happens to the process
 * does not change: a listener for rejections would keep it alive, so there is one only while the application has one.
 * @param uncaught must not throw
 * @returns a function that ends it
 */
export function followUncaught(host: Host, uncaught: (error: unknown) => void): () => void {
  const thrown = (error: unknown) => uncaught(error);
  const rejected = Object.assign((reason: unknown) => uncaught(reason), { [OURS]: true });
  const isOurs = (listener: object) => OURS in listener;
  const survives = () => host.listeners('unhandledRejection').some((listener) => !isOurs(listener));
  const follow = () => host.off('unhandledRejection', rejected).on('unhandledRejection', rejected);
  // Emitted before a listener is added, and after one was removed.
  const added = (event: string | symbol, listener: object) => {
    if (event === 'unhandledRejection' && !isOurs(listener)) follow();
  };
  const removed = (event: string | symbol) => {
    if (event === 'unhandledRejection' && !survives()) host.off('unhandledRejection', rejected);
  };
  // Emitted before the process ends, or a listener of the application runs.
  host.on('uncaughtExceptionMonitor', thrown).on('newListener', added).on('removeListener', removed);
  if (survives()) follow();
  return () => {
    host.off('newListener', added).off('removeListener', removed);
    host.off('uncaughtExceptionMonitor', thrown).off('unhandledRejection', rejected);
  };
}
