import { escapeUnprintable } from '../../printable.ts';
import { EMISSION_TEXTS, type Emission } from '../../protocol/emission.ts';
import { type Command, UsageError } from '../command.ts';
import { CONNECTION_OPTIONS, connect } from '../connection.ts';
import { table } from '../table.ts';

export const health: Command = {
  summary: 'show service health; exit code 1 if the service is unhealthy',
  options: CONNECTION_OPTIONS,
  run: async (terminal, values, operands) => {
    if (operands.length > 0) throw new UsageError('health takes no operands');
    const answer = await connect(terminal, values).health();
    if (values.json === true) {
      terminal.out(JSON.stringify(answer, undefined, 2));
    } else {
      terminal.out(escapeUnprintable(answer.status));
      if (answer.otelrdcp_emit) terminal.out(escapeUnprintable(emissionText(answer.otelrdcp_emit)));
      const rows = (answer.checks ?? []).map(({ name, status, duration }) => [name, status, duration]);
      if (rows.length > 0) terminal.out(`\n${table(['CHECK', 'STATUS', 'TOOK'], rows)}`);
    }
    return answer.status === 'unhealthy' ? 1 : 0;
  },
};

/** A newer server may send a destination that this version does not know. */
function emissionText({ to, reason }: Emission): string {
  const text = Object.hasOwn(EMISSION_TEXTS, to) ? EMISSION_TEXTS[to] : `to ${to}`;
  return `debug lines ${text} (${reason})`;
}
