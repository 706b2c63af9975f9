/**
 * Memoizes a pure function of the credential per connection, for the last credential of each connection. Do not use it for
 * the result of a verification, which must be repeated for each request.
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
