import { assertScope } from '../../auth/principal.ts';
import type { Scope } from '../../protocol/constants.ts';
import type { Step } from '../context.ts';

/** Demands one of the scopes of whoever has authenticated; `admin` implies all. */
export function authorize(...scopes: readonly [Scope, ...Scope[]]): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal !== undefined) assertScope(principal, scopes);
  };
}
