let loaded: Promise<typeof import('jose')> | undefined;

/** The library for JWTs, loaded with the first token: most services are asked with API keys. */
export function loadJose(): Promise<typeof import('jose')> {
  loaded ??= import('jose');
  return loaded;
}
