import type { Relay } from '../calls/tail/relay.ts';
import type { ControlPlane } from '../control/plane.ts';
import { DocumentFollower, documentControls, Newest } from '../control/pull/follower.ts';
import { fileSource, type Source } from '../control/pull/source.ts';
import type { ResolvedConfig } from '../options/config.ts';
import { loadOwn, withoutTracing } from '../otel/own-work.ts';
import { trustedUri } from '../wire/net/trusted-uri.ts';
import type { Closable } from './closing.ts';
import type { ProcessParts } from './process.ts';

/**
 * Follows the document of `pull`. @returns `undefined` without `pull`
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an address that is not trusted
 */
export function followDocument(
  { config, conditions, isolation, sink, tickets, report, time }: ProcessParts,
  { plane, relay }: { readonly plane: ControlPlane; readonly relay: Relay },
): Closable | undefined {
  const { pull, controls } = config;
  if (pull === undefined || tickets === undefined) return undefined;
  const { maxDuration } = controls;
  return new DocumentFollower({
    source: sourceOf(pull),
    newest: new Newest(pull.file === undefined ? undefined : `${pull.file}.newest`),
    everyMs: pull.every * 1000,
    rules: { ...tickets.rules, maxDuration },
    begin: documentControls({
      plane,
      check: (part) => relay.check(part),
      isolation,
      configuredRate: sink.budgets.configuredRate,
      maxDuration,
      clock: time.clock,
    }),
    ...time,
    condition: conditions.watch('pull'),
    report,
  });
}

/** The client of HTTP is loaded for an address alone. */
function sourceOf({ file, url = '' }: NonNullable<ResolvedConfig['pull']>): Source {
  if (file !== undefined) return fileSource(file);
  const trusted = trustedUri(url, 'pull.url');
  const opening = loadOwn(async () => (await import('../control/pull/address.ts')).addressSource(trusted));
  return { field: 'pull.url', read: async () => withoutTracing((await opening).read) };
}
