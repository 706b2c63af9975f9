import { escapeUnprintable } from '../../printable.ts';
import { REQUEST_HEADERS } from '../../protocol/constants.ts';
import type { Access, Addressing } from '../../tenancy/address.ts';
import type { Step } from '../context.ts';
import { header } from './headers.ts';

const MAX_TENANT_NAME_LENGTH = 200;

/** Determines the tenant that the request addresses: the credential decides, and headers must agree. */
export function tenancy(addressing: Addressing, access: Access): Step {
  return (ctx) => {
    const { req, state } = ctx;
    const tenantIds = req.headersDistinct[REQUEST_HEADERS.tenantId] ?? [];
    const isolationLevel = header(req, REQUEST_HEADERS.isolationLevel);
    const address = addressing.resolve(state.principal, { tenantIds, isolationLevel }, access);
    const name = header(req, REQUEST_HEADERS.tenantName);
    state.tenancy = name === undefined ? address : { ...address, tenantName: inTrail(name) };
  };
}

/** The name decides nothing but is recorded: it is truncated and stripped of control characters. */
function inTrail(name: string): string {
  return escapeUnprintable(name.slice(0, MAX_TENANT_NAME_LENGTH));
}
