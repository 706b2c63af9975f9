import { escapeUnprintable } from '../../printable.ts';
import { REQUEST_HEADERS } from '../../protocol/constants.ts';
import type { Addressing } from '../../tenancy/address.ts';
import { header, type Step } from '../context.ts';

const MAX_TENANT_NAME_LENGTH = 200;

/** Settles whose settings the request addresses: the credential says it, and headers must agree. */
export function tenancy(addressing: Addressing, access: 'read' | 'change'): Step {
  return (ctx) => {
    const { req, state } = ctx;
    const tenantIds = req.headersDistinct[REQUEST_HEADERS.tenantId] ?? [];
    const isolationLevel = header(req, REQUEST_HEADERS.isolationLevel);
    const address = addressing.resolve(state.principal, { tenantIds, isolationLevel }, access);
    const name = header(req, REQUEST_HEADERS.tenantName);
    state.tenancy = name === undefined ? address : { ...address, tenantName: inTrail(name) };
  };
}

/** The name decides nothing and goes into the trail: bounded, and without anything that a console would obey. */
function inTrail(name: string): string {
  return escapeUnprintable(name.slice(0, MAX_TENANT_NAME_LENGTH));
}
