import { adoptsEveryCopy } from './every-copy.ts';

adoptsEveryCopy(["before OpenTelemetry's own hook", "after OpenTelemetry's own hook"]);
