import { GateCore } from '../../src/gate/core.ts';
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

/** A gate whose category `A` follows a control plane, with what that knows of tenants. */
export function attached(sink: Partial<Sink> = {}, tenants: Pick<Controller, 'countsTenants' | 'currentTenant'> = {}) {
  const gate = new GateCore();
  const category = gate.category('A');
  const controller = Object.assign(new RecordingController(4096, sink), tenants);
  const attachment = gate.attach(controller);
  /** How often `A` was called, and how many of these calls were dropped. */
  const counts = () => [gate.callsTotal(0), gate.droppedTotal(0)];
  return { gate, category, controller, attachment, counts };
}

/** The same, and `A` is on for everybody. */
export function emitting(...how: Parameters<typeof attached>) {
  const made = attached(...how);
  made.attachment.setBase(0, true);
  return made;
}
