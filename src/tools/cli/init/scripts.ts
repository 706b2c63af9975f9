/** `node`, or tsx, which takes Node's options, where a shell takes it as a command: with variables before it. */
const RUNS_NODE =
  /(?:^|&&|[;|(])\s*(?:(?:exec|env|cross-env|nohup)\s+|\w+=(?:"[^"]*"|'[^']*'|[^\s"']*)\s+)*(?:node|tsx(?!\s+watch\b))(?=\s)/g;
/** Options that preload a module. Ours comes after them: one may start an OpenTelemetry SDK, to which it attaches. */
const PRELOADS = /^(?:\s+--?[\w-]+(?:=\S+)?)*?\s+(?:--import|--require|-r)(?:=|\s+)\S+/;
/** A value of NODE_OPTIONS: its quote, which JSON may have escaped for Windows, and its text. */
const NODE_OPTIONS = /(\bNODE_OPTIONS=)(?:(["'])([^"']*)\2|([^\s"']+))/;
const RUNS_SCRIPT = /^\s*(?:npm|yarn|pnpm)\s+(?:run\s+)?(?:-s\s+|--silent\s+)?([\w:.-]+)\s*$/;

/** Follows `npm run serve` to the script that starts the service. @returns its name */
export function startedBy(scripts: Readonly<Record<string, string>>, name: string): string {
  const seen = new Set<string>();
  for (let at = name; ; ) {
    seen.add(at);
    const next = RUNS_SCRIPT.exec(scripts[at] ?? '')?.[1];
    if (next === undefined || scripts[next] === undefined || seen.has(next)) return at;
    at = next;
  }
}

/** Adds an option to the last `node` that a script runs, or to its NODE_OPTIONS. `undefined` if it has neither. */
export function withOption(script: string, option: string): string | undefined {
  const [last] = [...script.matchAll(RUNS_NODE)].slice(-1);
  if (last !== undefined) {
    let at = last.index + last[0].length;
    for (let preload = PRELOADS.exec(script.slice(at)); preload !== null; preload = PRELOADS.exec(script.slice(at))) {
      at += preload[0].length;
    }
    return `${script.slice(0, at)} ${option}${script.slice(at)}`;
  }
  if (!NODE_OPTIONS.test(script)) return undefined;
  return script.replace(NODE_OPTIONS, (_, name, quote = '"', quoted = '', bare = '') => {
    return `${name}${quote}${quoted}${bare} ${option}${quote}`;
  });
}

/** Files of the project that a script preloads. */
export function preloadedBy(script: string): string[] {
  const files = script.matchAll(/(?:--import|--require|-r)(?:=|\s+)(?:\.\/)?([\w./-]+\.[cm]?[jt]s)\b/g);
  return [...files].map(([, file]) => file!);
}
