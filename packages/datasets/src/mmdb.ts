import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AddressBytes } from '@plumbline/net/address-bytes'
import { decodeValue, isMmdbMap, type KeyCache, MmdbError, type MmdbValue } from './mmdb-value.ts'

/** A MaxMind DB file in memory. */
export interface Mmdb {
  readonly type: string
  /** Day the file was built, ISO 8601; null if the file does not say. */
  readonly date: string | null
  /** 4: holds IPv4 only and must not be queried for IPv6. 6: holds both, or IPv6 only. */
  readonly ipVersion: 4 | 6
  /** Leaves of the tree that have a record. */
  readonly networkCount: number
  /**
   * Offset of the record of an address; null if the file has none.
   *
   * @throws MmdbError
   */
  locate(address: AddressBytes): number | null
  /**
   * The record at an offset that `locate` returned.
   *
   * @throws MmdbError
   */
  read(offset: number): MmdbValue
}

/**
 * Maximum bytes before the end in which the metadata must begin. Source: MaxMind DB format 2.0,
 * "Database Metadata".
 */
const METADATA_MAX_BYTES = 128 * 1024
const METADATA_MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
/** Zero bytes between the search tree and the data. */
const SEPARATOR_BYTES = 16
/** Nodes checked between two turns of the event loop: about 3 ms of work. */
const NODES_A_TURN = 200_000
/** Maximum number of records decoded when a file is opened, evenly spread. */
const SAMPLE_RECORDS = 10_000

interface Tree {
  readonly buffer: Buffer
  readonly nodeCount: number
  readonly recordSize: 24 | 28 | 32
  readonly nodeBytes: number
  readonly dataStart: number
  readonly dataEnd: number
  readonly keys: KeyCache
}

/**
 * Opens a MaxMind DB: reads its metadata, checks every node of its tree and a sample of its
 * records. Layout and limits: MaxMind DB file format specification 2.0.
 *
 * @throws MmdbError if the file is truncated, has pointers outside of it, or is nested without
 * limit
 */
export async function openMmdb(buffer: Buffer): Promise<Mmdb> {
  const metadataAt = buffer.lastIndexOf(METADATA_MARKER)
  if (metadataAt < 0 || buffer.length - metadataAt > METADATA_MAX_BYTES) {
    throw new MmdbError('expected the metadata of a MaxMind DB near the end, got none')
  }
  const metadata = readMetadata(buffer.subarray(metadataAt + METADATA_MARKER.length))
  const nodeBytes = metadata.recordSize / 4
  const treeBytes = metadata.nodeCount * nodeBytes
  const dataStart = treeBytes + SEPARATOR_BYTES
  if (dataStart > metadataAt) {
    throw new MmdbError(`expected a tree of ${treeBytes} bytes, got a file of ${buffer.length}`)
  }
  const tree: Tree = {
    buffer,
    ...metadata,
    nodeBytes,
    dataStart,
    dataEnd: metadataAt,
    keys: new Map(),
  }
  const networkCount = await checkTree(tree)
  const v4Root = metadata.ipVersion === 6 ? v4RootOf(tree) : 0
  return {
    type: metadata.type,
    date: metadata.date,
    ipVersion: metadata.ipVersion,
    networkCount,
    locate: (address) => locate(tree, address, metadata.ipVersion, v4Root),
    read: (offset) => readValue(tree, offset),
  }
}

function locate(
  tree: Tree,
  address: AddressBytes,
  ipVersion: 4 | 6,
  v4Root: number,
): number | null {
  if (ipVersion === 4 && address.length === 16) return null
  let node = ipVersion === 6 && address.length === 4 ? v4Root : 0
  const bits = address.length * 8
  for (let bit = 0; bit < bits && node < tree.nodeCount; bit++) {
    node = child(tree, node, ((address[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1)
  }
  if (node === tree.nodeCount) return null
  if (node < tree.nodeCount) throw new MmdbError('expected a leaf, got a node below the last bit')
  return offsetOf(tree, node)
}

function readValue(tree: Tree, offset: number): MmdbValue {
  return decodeValue(tree.buffer, tree.dataStart, tree.dataEnd, offset, tree.keys)
}

/** The value of a leaf counts from the end of the tree, including the separator. */
function offsetOf(tree: Tree, leaf: number): number {
  const offset = leaf - tree.nodeCount - SEPARATOR_BYTES + tree.dataStart
  if (offset < tree.dataStart || offset >= tree.dataEnd) {
    throw new MmdbError(`expected a record within the data, got offset ${offset}`)
  }
  return offset
}

function child(tree: Tree, node: number, side: number): number {
  const { buffer } = tree
  const at = node * tree.nodeBytes
  if (tree.recordSize === 24) {
    const start = at + side * 3
    return ((buffer[start] ?? 0) << 16) | ((buffer[start + 1] ?? 0) << 8) | (buffer[start + 2] ?? 0)
  }
  if (tree.recordSize === 32) return buffer.readUInt32BE(at + side * 4)
  const middle = buffer[at + 3] ?? 0
  const start = at + side * 4
  const low =
    ((buffer[start] ?? 0) << 16) | ((buffer[start + 1] ?? 0) << 8) | (buffer[start + 2] ?? 0)
  return low + (side === 0 ? middle >> 4 : middle & 0x0f) * 0x1000000
}

/** The node after 96 zero bits, where IPv4 addresses begin in a file for both versions. */
function v4RootOf(tree: Tree): number {
  let node = 0
  for (let bit = 0; bit < 96 && node < tree.nodeCount; bit++) node = child(tree, node, 0)
  return node
}

/** Checks every node and a sample of the records; returns how many leaves have one. */
async function checkTree(tree: Tree): Promise<number> {
  const step = Math.max(1, Math.floor((tree.nodeCount * 2) / SAMPLE_RECORDS))
  let leaves = 0
  for (let node = 0; node < tree.nodeCount; node++) {
    for (let side = 0; side < 2; side++) {
      const value = child(tree, node, side)
      if (value <= tree.nodeCount) continue
      const offset = offsetOf(tree, value)
      if (leaves++ % step === 0) readValue(tree, offset)
    }
    if (node % NODES_A_TURN === NODES_A_TURN - 1) await nextTurn()
  }
  return leaves
}

interface Metadata {
  readonly type: string
  readonly date: string | null
  readonly ipVersion: 4 | 6
  readonly nodeCount: number
  readonly recordSize: 24 | 28 | 32
}

function readMetadata(bytes: Buffer): Metadata {
  const value = decodeValue(bytes, 0, bytes.length, 0, new Map())
  if (!isMmdbMap(value)) throw new MmdbError('expected a map of metadata')
  const { node_count: nodeCount, record_size: recordSize, ip_version: ipVersion } = value
  if (recordSize !== 24 && recordSize !== 28 && recordSize !== 32) {
    throw new MmdbError(`expected a record size of 24, 28 or 32, got ${JSON.stringify(recordSize)}`)
  }
  if (ipVersion !== 4 && ipVersion !== 6) {
    throw new MmdbError(`expected IP version 4 or 6, got ${JSON.stringify(ipVersion)}`)
  }
  if (typeof nodeCount !== 'number' || !Number.isSafeInteger(nodeCount) || nodeCount < 0) {
    throw new MmdbError(`expected a count of nodes, got ${JSON.stringify(nodeCount)}`)
  }
  const { database_type: type, build_epoch: epoch } = value
  return {
    type: typeof type === 'string' ? type.slice(0, 100) : 'unknown',
    date: typeof epoch === 'number' ? dayOf(epoch) : null,
    ipVersion,
    nodeCount,
    recordSize,
  }
}

/** Last second that a `Date` can hold. */
const EPOCH_MAX = 8_640_000_000_000

function dayOf(epochSeconds: number): string | null {
  if (epochSeconds <= 0 || epochSeconds > EPOCH_MAX) return null
  return new Date(epochSeconds * 1000).toISOString().slice(0, 10)
}
