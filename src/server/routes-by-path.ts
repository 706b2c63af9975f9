import { Router, type RouterMiddleware } from '@koa/router';
import type { RequestState } from './context.ts';

/**
 * The routes of a router whose paths are all literal, as middleware that looks the path up. The router itself tries every
 * pattern for every request, and that took more time than anything else that a status request goes through.
 */
export function routesByPath(router: Router<RequestState>): RouterMiddleware<RequestState> {
  const byPath = new Map<string, RouterMiddleware<RequestState>>();
  for (const [path, layers] of Map.groupBy(router.stack, (layer) => String(layer.path))) {
    const one = new Router<RequestState>(router.opts);
    one.stack.push(...layers);
    byPath.set(path, one.routes());
  }
  return (ctx, next) => {
    const routes = byPath.get(ctx.path);
    return routes === undefined ? next() : routes(ctx, next);
  };
}
