import { createHash } from 'node:crypto';
import { instrument, type Step } from './instrumentation.ts';

const KEY = 'the-key-of-the-request-that-is-traced';
const CATEGORY = 'DATABASE';

/** Where a command enters the control plane, and where its category flips. */
const ENTRY = { file: 'control/plane.ts', name: 'control' };
const FLIP = { file: 'gate/attachment.ts', name: 'setBase' };

/** The way of a real `POST /rdcp/v1/control`, from its socket to the flip of the category. */
export interface TracedRequest {
  readonly whole: readonly Step[];
  /** From `plane.control` on. */
  readonly control: readonly Step[];
}

/** @param options of the request, such as a duration */
export async function traceControlRequest(options?: { readonly duration: string }): Promise<TracedRequest> {
  let steps: Step[] | undefined;
  instrument((step) => {
    if (steps !== undefined && !isStep(steps.at(-1), FLIP)) steps.push(step);
  });
  const { createRdcp } = await import('../../src/assembly/rdcp.ts');
  const rdcp = createRdcp({ server: { port: 0 }, announce: false, security: { apiKeys: [apiKey()] } });
  rdcp.category(CATEGORY);
  try {
    const { url } = await rdcp.listen();
    const send = async (action: string) => {
      const response = await fetch(`${url}/rdcp/v1/control`, {
        method: 'POST',
        headers: { 'X-RDCP-API-Key': KEY, 'Content-Type': 'application/json', Connection: 'close' },
        body: JSON.stringify({ action, categories: [CATEGORY], options }),
      });
      if (!response.ok) throw new Error(`${action}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    };
    // What is loaded by the first request, and what is left to the next turns of the event loop, is no part of the way.
    await send('enable');
    await new Promise((resolve) => setTimeout(resolve, 200));
    steps = [];
    await send('disable');
  } finally {
    await rdcp.close();
  }
  const whole = steps ?? [];
  return { whole, control: whole.slice(whole.findIndex((step) => isStep(step, ENTRY))) };
}

export function filesOf(steps: readonly Step[]): readonly string[] {
  return [...new Set(steps.map(({ file }) => file))];
}

/** How often a reader goes from one file to another. */
export function hopsOf(steps: readonly Step[]): number {
  return visitsOf(steps).length - 1;
}

/** Steps that follow each other in one file. */
export function visitsOf(steps: readonly Step[]): { readonly file: string; readonly names: string[] }[] {
  const visits: { file: string; names: string[] }[] = [];
  for (const { file, name } of steps) {
    const last = visits.at(-1);
    if (last?.file !== file) visits.push({ file, names: [name] });
    else if (last.names.at(-1) !== name) last.names.push(name);
  }
  return visits;
}

function isStep(step: Step | undefined, { file, name }: Step): boolean {
  return step?.file === file && step.name === name;
}

function apiKey() {
  const hash = `sha256:${createHash('sha256').update(KEY).digest('hex')}`;
  return { id: 'traced', hash, userId: 'ops', clientId: 'trace', scopes: ['control' as const] };
}
