import { context, type Exception, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { type Ending, endWhenSettled } from '../../gate/settling.ts';
import type { SpanAttributes } from '../../gate/types.ts';
import { diagnostics } from '../../otel/diagnostics.ts';
import { errorFields, isError, messageOf } from '../../wire/thrown.ts';
import { startKept } from './sampler.ts';

/**
 * Runs `fn` in an active span, exactly once, whatever the tracer does. Passes on what `fn` throws or returns; the span
 * ends then, or when a returned promise settles.
 * @param mask masks credentials in what is recorded of an exception
 */
export function runInSpan<T>(
  tracer: () => Tracer,
  name: string,
  attributes: SpanAttributes,
  fn: (span?: Span) => T,
  mask: (text: string) => string,
): T {
  const span = start(tracer, name, attributes);
  if (span === undefined) return fn();
  const active = trace.setSpan(context.active(), span);
  return endWhenSettled(() => context.with(active, () => fn(span)), new SpanEnding(span, mask));
}

function start(tracer: () => Tracer, name: string, attributes: SpanAttributes): Span | undefined {
  try {
    return startKept(context.active(), (active) => tracer().startSpan(name, { attributes: { ...attributes } }, active));
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** Ends its span once, and keeps the span's exceptions from the application. */
class SpanEnding implements Ending {
  private span: Span | undefined;
  private readonly mask: (text: string) => string;

  constructor(span: Span, mask: (text: string) => string) {
    this.span = span;
    this.mask = mask;
  }

  succeeded(): void {
    this.end(() => {});
  }

  failed(error: unknown): void {
    this.end((span) => {
      span.recordException(exception(error, this.mask));
      const message = isError(error) ? { message: this.mask(messageOf(error)) } : {};
      span.setStatus({ code: SpanStatusCode.ERROR, ...message });
    });
  }

  private end(finish: (span: Span) => void): void {
    const span = this.span;
    if (span === undefined) return;
    this.span = undefined;
    try {
      finish(span);
      span.end();
    } catch (error) {
      report(error);
    }
  }
}

function exception(error: unknown, mask: (text: string) => string): Exception {
  if (typeof error === 'string') return mask(error);
  if (!isError(error)) return `thrown: ${typeof error}`;
  const { type, message, stacktrace = '', details } = errorFields(error);
  const { code } = details;
  const hasCode = typeof code === 'string' || typeof code === 'number';
  return { name: type, message: mask(message), stack: mask(stacktrace), ...(hasCode && { code }) };
}

function report(error: unknown): void {
  diagnostics.error('rdcp: a span of a debug category failed', error);
}
