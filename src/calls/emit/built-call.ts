import type { AttributeFailure, Given } from '../../gate/types.ts';
import { ATTR_TENANT_ID } from '../../otel/semconv.ts';
import type { Redaction } from '../../wire/redaction.ts';
import { buildAttributes, withError } from './attributes.ts';
import { MessageTexts } from './message.ts';
import type { Call } from './record.ts';
import { bytesOf } from './text.ts';

export interface Built {
  readonly call: Call;
  readonly failure: AttributeFailure | undefined;
}

/** Builds what leaves the process of a call: bounded and redacted. */
export class CallBuilder {
  readonly #redaction: Redaction;
  readonly #messages: MessageTexts;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
    this.#messages = new MessageTexts(redaction);
  }

  /** @param at when the call was made, in milliseconds since the epoch. @default now */
  build(category: string, message: string, given: Given, tenantId: string | undefined, at?: number): Built {
    const isText = typeof message === 'string';
    const built = buildAttributes(category, isText ? given : withError(message, given), this.#redaction);
    const text = this.#messages.of(message);
    const { attributes, simple, failure } = built;
    const tenantBytes = tenantId === undefined ? 0 : bytesOf({ [ATTR_TENANT_ID]: tenantId });
    const bytes = built.bytes + text.length + tenantBytes;
    const call: Call = { severity: 'DEBUG', message: text, attributes, simple, tenantId, bytes };
    return { call: at === undefined ? call : { ...call, at }, failure };
  }
}
