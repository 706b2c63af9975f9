import { assertKnown } from '../../control/transition.ts';
import type { ControlPlane, Scope } from '../../control/types.ts';

/** @throws {RdcpError} `RDCP_CATEGORY_NOT_FOUND`, as a control would */
export function assertKnownHere(plane: ControlPlane, scope: Scope, categories: readonly string[]): void {
  assertKnown(categories, new Set(plane.view(scope).map(({ name }) => name)));
}
