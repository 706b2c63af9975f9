/** The samples of one metric and the comments that describe it. */
interface Family {
  readonly comments: readonly string[];
  readonly samples: string[];
}

const PROCESS_LABEL = 'process_pid';

/**
 * Merges the metrics of several processes, in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/).
 * Each sample gets the label `process_pid`, unless it has one.
 */
export function mergeExpositions(texts: ReadonlyMap<number, string>): string {
  const families = new Map<string, Family>();
  for (const [pid, text] of texts) {
    let comments: string[] = [];
    let family: Family | undefined;
    for (const line of text.split('\n')) {
      if (line.startsWith('#')) {
        comments.push(line);
        family = undefined;
      } else if (line !== '') {
        family ??= familyOf(families, comments, line);
        family.samples.push(labelled(line, pid));
        comments = [];
      }
    }
  }
  return [...families.values()].flatMap(({ comments, samples }) => [...comments, ...samples, '']).join('\n');
}

/** The format requires the lines of a metric to be one group, which starts with its comments: `# HELP name …`. */
function familyOf(families: Map<string, Family>, comments: readonly string[], sample: string): Family {
  const name = comments.length > 0 ? comments[0]?.split(' ', 3)[2] : sample.split(/[{ ]/, 1)[0];
  const known = families.get(name ?? '');
  if (known !== undefined) return known;
  const family = { comments, samples: [] };
  families.set(name ?? '', family);
  return family;
}

function labelled(sample: string, pid: number): string {
  const name = /^[^{ ]+/.exec(sample)?.[0] ?? '';
  const rest = sample.slice(name.length);
  const label = `${PROCESS_LABEL}="${pid}"`;
  if (!rest.startsWith('{')) return `${name}{${label}}${rest}`;
  if (new RegExp(`[{,]${PROCESS_LABEL}="`).test(rest)) return sample;
  return `${name}{${label}${rest.startsWith('{}') ? '' : ','}${rest.slice(1)}`;
}
