// A Prometheus scrape of 1,024 categories, with everything that is observed of them, beside one of 1,024 bare observable
// counters: the processor time of the SDK and its exporter for collecting and writing out, without the connection. Nearly
// all of it goes by the number of series, of which a category has two (calls, enabled) and once it was called three (its
// rate). One counter with 1,024 series is the least that anybody could have, and stands beside them.

import { logs, type Meter, metrics } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { timing } from './load/contest.ts';
import { built, publish, type Timing, type Verdict, verdict } from './measurement.ts';

const { createRdcp }: typeof import('../src/index.ts') = await import(built('index.js'));

const CATEGORIES = 1024;
const ROUNDS = 25;
const WARM_UP = 20;

class Scraper extends MetricReader {
  readonly #serializer = new PrometheusSerializer();

  async scrape(): Promise<string> {
    const { resourceMetrics } = await this.collect();
    return this.#serializer.serialize(resourceMetrics);
  }

  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** With a version, as ours has: it becomes a label of every series. */
function meterOf(reader: MetricReader): Meter {
  return new MeterProvider({ readers: [reader] }).getMeter('bare', '0.1.0');
}

/** One counter with a series for each, as an application that counts by category would make them. */
function bareSeries(): Scraper {
  const reader = new Scraper();
  const counter = meterOf(reader).createObservableCounter('bare.calls');
  counter.addCallback((result) => {
    for (let index = 0; index < CATEGORIES; index++)
      result.observe(index, { 'bare.category.name': `CATEGORY_${index}` });
  });
  return reader;
}

/** A counter for each. */
function bareCounters(): Scraper {
  const reader = new Scraper();
  const meter = meterOf(reader);
  for (let index = 0; index < CATEGORIES; index++) {
    meter.createObservableCounter(`bare.calls.${index}`).addCallback((result) => result.observe(index));
  }
  return reader;
}

const ours = new Scraper();
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [ours] }));
logs.setGlobalLoggerProvider(new LoggerProvider());
const rdcp = createRdcp({ server: false, security: { apiKeys: [] } });
const categories = Array.from({ length: CATEGORIES }, (_, index) =>
  rdcp.category(`CATEGORY_${index}`, { enabled: true }),
);

const SERIES = 'one observable counter with 1,024 series';
const COUNTERS = '1,024 observable counters';
const UNCALLED = '1,024 categories, none of them called';
const CALLED = '1,024 categories, all of them called';

async function time(scrapers: Readonly<Record<string, Scraper>>): Promise<Timing[]> {
  const taken = Object.entries(scrapers).map(([name, scraper]) => ({ name, scraper, rounds: [] as number[] }));
  for (const { scraper } of taken) for (let warm = 0; warm < WARM_UP; warm++) await scraper.scrape();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { scraper, rounds } of round % 2 === 0 ? taken : taken.toReversed()) {
      const start = process.cpuUsage();
      await scraper.scrape();
      const { user, system } = process.cpuUsage(start);
      rounds.push((user + system) * 1000);
    }
  }
  return taken.map(({ name, rounds }) => timing(name, rounds));
}

function judge(timings: readonly Timing[], name: string, beside: string): Verdict {
  const median = (wanted: string) => timings.find((one) => one.name === wanted)!.p50;
  const ratio = median(name) / median(beside);
  return verdict(`a scrape of ${name}`, `<= 2 times ${beside}`, ratio.toFixed(2), ratio <= 2, ratio);
}

const bare = { [SERIES]: bareSeries(), [COUNTERS]: bareCounters() };
const uncalled = await time({ ...bare, [UNCALLED]: ours });
for (const category of categories) category.debug('m');
const called = await time({ ...bare, [CALLED]: ours });
if (!(await ours.scrape()).includes('rdcp_debug_calls_total{rdcp_category_name="CATEGORY_1023"')) {
  throw new Error('the categories are not in the scrape');
}
await rdcp.close();

publish({
  timings: [...uncalled, ...called.slice(-1)],
  verdicts: [judge(uncalled, UNCALLED, COUNTERS), judge(called, CALLED, COUNTERS)],
});
