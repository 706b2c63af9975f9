import { describeSilence } from '../../wire/call-counts.ts';
import type { CategoryForecast, ForecastResponse } from '../../wire/streams.ts';
import { parseDuration } from '../../wire/time.ts';
import { type Canvas, type Cell, table } from './table.ts';
import type { Terminal } from './terminal.ts';

const HEADER = ['CATEGORY', 'CALLS/S', 'BYTES/S', 'BYTES/CALL', 'GB/DAY', 'DROPPED/S'];

export function forecastTable(terminal: Canvas, answer: ForecastResponse): string {
  return `${table(terminal, HEADER, rowsOf(answer))}\n\n${measured(terminal, answer)}`;
}

export function showForecast(terminal: Terminal, answer: ForecastResponse): void {
  terminal.table(HEADER, rowsOf(answer));
  terminal.show(`\n${measured(terminal, answer)}`);
}

function measured({ paint }: Canvas, { duration, instances }: ForecastResponse): string {
  const processes = `${instances.answered} of ${instances.asked} ${instances.asked === 1 ? 'process' : 'processes'}`;
  return paint(`measured for ${duration} in ${processes}`, undefined);
}

function rowsOf({ categories }: ForecastResponse): Cell[][] {
  return Object.entries(categories).map(([name, figures]) => rowOf(name, figures));
}

/** Says what became of the calls of categories without a line, where a part of the calls was asked for. */
export function noteSilence(
  terminal: Pick<Terminal, 'note'>,
  answer: ForecastResponse,
  part: Parameters<typeof describeSilence>[1],
): void {
  const sentence = describeSilence(answer, part);
  if (sentence !== undefined) terminal.note(`${sentence}.`);
}

/** Says what the figures leave out. */
export function noteGaps(terminal: Pick<Terminal, 'note'>, { instances }: ForecastResponse): void {
  const missing = instances.asked - instances.answered;
  if (missing > 0) {
    const [who, them] = missing === 1 ? ['1 process', 'it'] : [`${missing} processes`, 'them'];
    terminal.note(`${who} of ${instances.asked} did not answer: the figures leave ${them} out.`);
  }
}

/** How long a forecast measures, unless another time is given. */
export const USUAL_TIME = '10s';

/** Shows how long a measurement still takes, where a person waits for it. */
export async function whileMeasuring<T>(terminal: Terminal, time: string, ask: () => Promise<T>): Promise<T> {
  const ends = terminal.now() + (parseDuration(time) ?? 0) * 1000;
  const show = () => {
    const seconds = Math.ceil((ends - terminal.now()) / 1000);
    terminal.progress(`Measuring: ${seconds > 0 ? `${seconds} s left` : 'waiting for the answer'}`);
  };
  show();
  const ticking = setInterval(show, 1000);
  try {
    return await ask();
  } finally {
    clearInterval(ticking);
    terminal.progress('');
  }
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
