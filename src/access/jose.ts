let loaded: Promise<typeof import('jose')> | undefined;

/** Loads the JWT library with the first token: most services use API keys only. */
export function loadJose(): Promise<typeof import('jose')> {
  loaded ??= import('jose');
  return loaded;
}
