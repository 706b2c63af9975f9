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
    state.tenancy = name === undefined ? address : { ...address, tenantName: printable(name) };
  };
}

/** The name decides nothing and goes into the trail: bounded, and without anything that a console would obey. */
function printable(text: string): string {
  return text
    .slice(0, MAX_TENANT_NAME_LENGTH)
    .replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
