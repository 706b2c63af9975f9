import type { Attachment, Attributes, Controller, Gate, Sink, Span } from '../../src/gate/types.ts';

export interface Emitted {
  readonly category: string;
  readonly message: string;
  readonly attributes: Attributes | undefined;
}

/** A controller that keeps everything it is told. */
export class RecordingController implements Controller {
  readonly emitted: Emitted[] = [];
  readonly spans: string[] = [];
  readonly announced: string[] = [];
  readonly failures: { readonly category: string; readonly error: unknown }[] = [];
  readonly maxCategories: number;
  readonly sink: Sink;

  constructor(maxCategories = 4096, sink: Partial<Sink> = {}) {
    this.maxCategories = maxCategories;
    this.sink = {
      emit: (category, message, given) => {
        const attributes = typeof given === 'function' ? given() : given;
        this.emitted.push({ category: category.name, message, attributes: attributes as Attributes });
        return undefined;
      },
      span: (category, name, fn) => {
        this.spans.push(`${category.name} ${name}`);
        return fn(span);
      },
      ...sink,
    };
  }

  registered(category: { readonly name: string; readonly defaultEnabled: boolean }): void {
    this.announced.push(`${category.name} ${category.defaultEnabled ? 'on' : 'off'}`);
  }

  failed(category: { readonly name: string }, error: unknown): void {
    this.failures.push({ category: category.name, error });
  }
}

/** The span that {@link RecordingController} gives to traced functions. */
export const span: Span = { setAttribute: () => undefined, addEvent: () => undefined };

/** Attaches, and switches the first category on for everybody. */
export function attachOn(gate: Gate, controller: Controller): Attachment {
  const attachment = gate.attach(controller);
  attachment.setBase(0, true);
  return attachment;
}
