import type { Middleware } from 'koa';
import type { KoaBodyMiddlewareOptions } from 'koa-body';

/** Returns the parser, loaded on first use. */
export type BodyParser = () => Middleware | Promise<Middleware>;

/** A koa-body parser for POST bodies, loaded lazily: a service without control requests never loads koa-body. */
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
