/**
 * Computes something of the credential that a request carries, and remembers it for as long as its connection goes on
 * sending the same one. It says nothing of whether the credential is good: that is found out anew each time.
 */
export function byConnection<T>(compute: (text: string) => T): (text: string, connection?: object) => T {
  const sent = new WeakMap<object, { readonly text: string; readonly value: T }>();
  return (text, connection) => {
    const last = connection && sent.get(connection);
    if (last?.text === text) return last.value;
    const value = compute(text);
    if (connection !== undefined) sent.set(connection, { text, value });
    return value;
  };
}
