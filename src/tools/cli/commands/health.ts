import type { Emission } from '../../../wire/emission.ts';
import { EMISSION_TEXTS } from '../../../wire/words/emission.ts';
import { type Command, EXIT, type Style } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { present } from '../output.ts';

export const health: Command = {
  summary: 'show service health; exit code 1 if the service is unhealthy',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp health'],
  run: async (terminal, values) => {
    const answer = await connect(terminal, values).health();
    present(terminal, values, answer, () => {
      terminal.say(answer.status, STYLES[answer.status]);
      if (answer.otelrdcp_emit) terminal.say(emissionText(answer.otelrdcp_emit));
      const checks = answer.checks ?? [];
      const explained = checks.some(({ otelrdcp_reason: reason }) => reason !== undefined);
      if (checks.length === 0) return;
      terminal.out('');
      terminal.table(checks, [
        ['CHECK', ({ name }) => name],
        ['STATUS', ({ status }) => (status === 'pass' ? status : [status, STYLES[status] ?? 'yellow'])],
        ['TOOK', ({ duration }) => duration],
        explained && ['REASON', ({ otelrdcp_reason: reason }) => reason ?? '-'],
      ]);
    });
    return answer.status === 'unhealthy' ? EXIT.refused : EXIT.done;
  },
};

const STYLES: Readonly<Record<string, Style>> = {
  healthy: 'green',
  degraded: 'yellow',
  unhealthy: 'red',
  warn: 'yellow',
  fail: 'red',
};

/** A newer server may send a destination that this version does not know. */
function emissionText({ to, reason }: Emission): string {
  const text = Object.hasOwn(EMISSION_TEXTS, to) ? EMISSION_TEXTS[to] : `to ${to}`;
  return `debug lines ${text} (${reason})`;
}
