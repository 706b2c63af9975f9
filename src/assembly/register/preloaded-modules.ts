const OPTION = /^(?:--import|--require|-r)(?:=(?<module>.*))?$/s;

/** The modules that `NODE_OPTIONS` and the command line preload. */
export function preloadedModules(execArgv: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const words = [...wordsOf(env.NODE_OPTIONS ?? ''), ...execArgv];
  return words.flatMap((word, index) => {
    const option = OPTION.exec(word);
    return option === null ? [] : [option.groups?.module ?? words[index + 1] ?? ''];
  });
}

/** Node splits `NODE_OPTIONS` at spaces outside of double quotes; inside, a backslash escapes. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/gs) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"/gs, (_, quoted) => quoted.replaceAll(/\\(.)/gs, '$1')),
  );
}
