import type { World } from '../world.ts'
import type { Domain } from '../world/domain.ts'
import { RCODE } from './records.ts'
import type { Reply } from './records.ts'

/** The reply for a domain whose name servers fail; undefined where this type is answered as usual. */
export function faultyReply(
  _world: World,
  domain: Domain,
  _name: string,
  _type: number,
): Reply | undefined {
  switch (domain.dnsFault) {
    case 'servfail':
      return { rcode: RCODE.servFail, answers: [] }
    case 'refused':
      return { rcode: RCODE.refused, answers: [] }
    default:
      return undefined
  }
}
