import { SpanKind, trace } from '@opentelemetry/api'
import { SamplingDecision, TraceIdRatioBasedSampler, type Sampler } from '@opentelemetry/sdk-trace'

const DROPPED = { decision: SamplingDecision.NOT_RECORD }
const KEPT = { decision: SamplingDecision.RECORD_AND_SAMPLED }

/**
 * Keeps a share of the traces, chosen by trace id, so that all processes keep the same ones
 * whatever a caller's header says. Work without a caller, such as polling for a job, is not traced.
 *
 * @param share 0 to 1
 */
export function sampleTraces(share: number): Sampler {
  const byId = new TraceIdRatioBasedSampler(share)
  return {
    shouldSample(parentContext, traceId, _name, kind) {
      const parent = trace.getSpanContext(parentContext)
      if (parent === undefined) {
        return kind === SpanKind.INTERNAL ? DROPPED : byId.shouldSample(parentContext, traceId)
      }
      if (parent.isRemote === true) return byId.shouldSample(parentContext, traceId)
      return (parent.traceFlags & 1) === 1 ? KEPT : DROPPED
    },
    toString: () => `share ${share}`,
  }
}
