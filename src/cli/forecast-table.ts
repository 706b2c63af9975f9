import type { CategoryForecast, ForecastResponse } from '../protocol/streams.ts';
import { type Canvas, type Cell, table } from './table.ts';
import { UNKNOWN_TENANT } from './tenant.ts';
import type { Terminal } from './terminal.ts';

const HEADER = ['CATEGORY', 'CALLS/S', 'BYTES/S', 'BYTES/CALL', 'GB/DAY', 'DROPPED/S'];

export function forecastTable(terminal: Canvas, { duration, instances, categories }: ForecastResponse): string {
  const rows = Object.entries(categories).map(([name, figures]) => rowOf(name, figures));
  const processes = `${instances.answered} of ${instances.asked} ${instances.asked === 1 ? 'process' : 'processes'}`;
  return `${table(terminal, HEADER, rows)}\n\n${terminal.paint(`measured for ${duration} in ${processes}`, undefined)}`;
}

/** Says what the figures leave out. */
export function noteGaps(terminal: Pick<Terminal, 'note'>, { instances, tenantKnown }: ForecastResponse): void {
  const missing = instances.asked - instances.answered;
  if (missing > 0) {
    const [who, them] = missing === 1 ? ['1 process', 'it'] : [`${missing} processes`, 'them'];
    terminal.note(`${who} of ${instances.asked} did not answer: the figures leave ${them} out.`);
  }
  if (tenantKnown === false) terminal.note(UNKNOWN_TENANT);
}

function rowOf(name: string, figures: CategoryForecast): Cell[] {
  const dropped = figures.droppedByBudget.value;
  return [
    name,
    rounded(figures.callsPerSecond.value),
    rounded(figures.bytesPerSecond.value),
    figures.bytesPerCall === undefined ? '-' : rounded(figures.bytesPerCall.value),
    figures.gigabytesPerDay.value.toFixed(figures.gigabytesPerDay.value < 1 ? 3 : 1),
    dropped > 0 ? { text: rounded(dropped), style: 'yellow' } : '0',
  ];
}

function rounded(value: number): string {
  return value.toFixed(value < 10 && !Number.isInteger(value) ? 1 : 0);
}
