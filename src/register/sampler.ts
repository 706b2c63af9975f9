import type { Sampler } from '@opentelemetry/api';
import { gateSampler } from '../emit/sampler.ts';
import { isSet } from '../otel-environment.ts';
import { loadPackageOf } from './otel-packages.ts';

const SDK = '@opentelemetry/sdk-node';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The sampler that the SDK would create for `OTEL_TRACES_SAMPLER`, which also keeps the spans of categories that are on.
 * `undefined` if a variable has an invalid value: the SDK then creates its own default and warns.
 */
export function samplerFrom(env: Variables): Sampler | undefined {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = loadSamplers();
  const ratio = ratioFrom(env);
  const make: Readonly<Record<string, () => Sampler | undefined>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => (ratio === undefined ? undefined : new TraceIdRatioBasedSampler(ratio)),
  };
  const [, parentBased, root = ''] = /^(parentbased_)?(.*)$/.exec(name(env)) ?? [];
  const sampler = Object.hasOwn(make, root) ? make[root]?.() : undefined;
  if (sampler === undefined) return undefined;
  return gateSampler(parentBased === undefined ? sampler : new ParentBasedSampler({ root: sampler }));
}

const name = ({ OTEL_TRACES_SAMPLER: given }: Variables) => (isSet(given) ? given.trim() : 'parentbased_always_on');

function ratioFrom({ OTEL_TRACES_SAMPLER_ARG: given }: Variables): number | undefined {
  const ratio = isSet(given) ? Number(given) : Number.NaN;
  return ratio >= 0 && ratio <= 1 ? ratio : undefined;
}

function loadSamplers(): typeof import('@opentelemetry/sdk-trace') {
  try {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace');
  } catch {
    return loadPackageOf(SDK, '@opentelemetry/sdk-trace-base'); // Early 2.x releases.
  }
}
