import { assertScope } from '../../auth/principal.ts';
import type { Scope } from '../../protocol/constants.ts';
import type { Step } from '../context.ts';

/** Requires one of the scopes; `admin` implies all. */
export function authorize(...scopes: readonly [Scope, ...Scope[]]): Step {
  return (ctx) => {
    const { principal } = ctx.state;
    if (principal !== undefined) assertScope(principal, scopes);
  };
}
