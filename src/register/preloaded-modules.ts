const OPTION = /^(?:--import|--require|-r)(?:=(?<module>.*))?$/s;

/** The modules that Node was told to load before the application, by `NODE_OPTIONS` and on its command line. */
export function preloadedModules(execArgv: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const words = [...wordsOf(env.NODE_OPTIONS ?? ''), ...execArgv];
  return words.flatMap((word, index) => {
    const option = OPTION.exec(word);
    return option === null ? [] : [option.groups?.module ?? words[index + 1] ?? ''];
  });
}

/** `NODE_OPTIONS` is split at spaces outside of double quotes, in which a backslash escapes. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/gs) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"/gs, (_, quoted) => quoted.replaceAll(/\\(.)/gs, '$1')),
  );
}
