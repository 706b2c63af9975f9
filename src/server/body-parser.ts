import type { Middleware } from 'koa';
import type { KoaBodyMiddlewareOptions } from 'koa-body';

/** Gives the parser, and loads it when it is asked for the first time. */
export type BodyParser = () => Middleware | Promise<Middleware>;

/** A parser of koa-body for the bodies of POST. A service in which nothing is ever switched does without koa-body. */
export function bodyParser(options: Partial<KoaBodyMiddlewareOptions>): BodyParser {
  let parser: Middleware | undefined;
  const load = async () => {
    const { HttpMethodEnum, koaBody } = await import('koa-body');
    parser ??= koaBody({
      includeUnparsed: true,
      multipart: false,
      urlencoded: false,
      parsedMethods: [HttpMethodEnum.POST],
      ...options,
    });
    return parser;
  };
  return () => parser ?? load();
}
