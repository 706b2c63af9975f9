/** Event streams in progress. They end when the server closes, which waits for answers otherwise. */
export interface OpenStreams {
  /** @param end called once, at once if the server has closed already. @returns a function that removes it */
  add(end: () => void): () => void;
  close(): void;
}

export function createOpenStreams(): OpenStreams {
  const ends = new Set<() => void>();
  let closed = false;
  return {
    add(end) {
      if (closed) end();
      else ends.add(end);
      return () => ends.delete(end);
    },
    close() {
      closed = true;
      for (const end of [...ends]) end();
      ends.clear();
    },
  };
}
