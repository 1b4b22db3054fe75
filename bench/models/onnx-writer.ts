/**
 * Writes the subset of ONNX files (onnx.proto3, IR version 8) that an encoder needs: a graph of nodes with float and
 * integer attributes, float and integer weights, and named, sized inputs and outputs.
 */

const IR_VERSION = 8;
const OPERATORS = [
  { domain: '', version: 17 },
  // The fused operators that ONNX Runtime's own optimiser puts in the place of a transformer's parts.
  { domain: 'com.microsoft', version: 1 },
];
const ELEMENT_TYPE = { float: 1, int64: 7 } as const;
const ATTRIBUTE_TYPE = { float: 1, int: 2, ints: 7 } as const;
const WIRE = { varint: 0, bytes: 2, fixed32: 5 } as const;

/** An operator with its inputs and outputs, by name. */
export interface GraphNode {
  operator: string;
  domain?: string;
  inputs: readonly string[];
  output: string;
  attributes?: Readonly<Record<string, { float: number } | { int: number } | { ints: readonly number[] }>>;
}

/** A weight, row by row. */
export interface Weight {
  name: string;
  shape: readonly number[];
  values: Float32Array;
}

/** An input or output of a graph; a size given as text is dynamic. */
export interface Port {
  name: string;
  type: keyof typeof ELEMENT_TYPE;
  shape: readonly (number | string)[];
}

/** A graph, its nodes in the order in which they can be computed. */
export interface Graph {
  nodes: readonly GraphNode[];
  weights: readonly Weight[];
  inputs: readonly Port[];
  outputs: readonly Port[];
}

/** The bytes of an ONNX file with the graph. */
export function onnxFile({ nodes, weights, inputs, outputs }: Graph): Buffer {
  const graph = [
    ...nodes.map((node) => message(1, nodeBytes(node))),
    text(2, 'graph'),
    ...weights.map((weight) => message(5, weightBytes(weight))),
    ...inputs.map((port) => message(11, portBytes(port))),
    ...outputs.map((port) => message(12, portBytes(port))),
  ];
  const imports = OPERATORS.map(({ domain, version }) => message(8, [text(1, domain), integer(2, version)]));
  return Buffer.concat([integer(1, IR_VERSION), text(2, 'quire bench'), message(7, graph), ...imports]);
}

function nodeBytes({ operator, domain, inputs, output, attributes = {} }: GraphNode): Buffer[] {
  return [
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(3, output),
    text(4, operator),
    ...Object.entries(attributes).map(([name, value]) => message(5, [text(1, name), ...attributeBytes(value)])),
    ...(domain === undefined ? [] : [text(7, domain)]),
  ];
}

function attributeBytes(value: { float: number } | { int: number } | { ints: readonly number[] }): Buffer[] {
  if ('float' in value) return [float(2, value.float), integer(20, ATTRIBUTE_TYPE.float)];
  if ('int' in value) return [integer(3, value.int), integer(20, ATTRIBUTE_TYPE.int)];
  return [...value.ints.map((each) => integer(8, each)), integer(20, ATTRIBUTE_TYPE.ints)];
}

function weightBytes({ name, shape, values }: Weight): Buffer[] {
  const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return [...shape.map((size) => integer(1, size)), integer(2, ELEMENT_TYPE.float), text(8, name), bytes(9, data)];
}

function portBytes({ name, type, shape }: Port): Buffer[] {
  const sizes = shape.map((size) => message(1, [typeof size === 'number' ? integer(1, size) : text(2, size)]));
  const tensor = message(1, [integer(1, ELEMENT_TYPE[type]), message(2, sizes)]);
  return [text(1, name), message(2, [tensor])];
}

function message(field: number, parts: readonly Buffer[]): Buffer {
  return bytes(field, Buffer.concat(parts));
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([tag(field, WIRE.bytes), varint(value.length), value]);
}

function integer(field: number, value: number): Buffer {
  return Buffer.concat([tag(field, WIRE.varint), varint(value)]);
}

function float(field: number, value: number): Buffer {
  const part = Buffer.alloc(4);
  part.writeFloatLE(value);
  return Buffer.concat([tag(field, WIRE.fixed32), part]);
}

function tag(field: number, wire: number): Buffer {
  return varint(field * 8 + wire);
}

/** Seven bits a byte, the lowest first. Numbers below zero have ten bytes: two's complement in 64 bits. */
function varint(value: number): Buffer {
  const parts: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    parts.push(rest === 0n ? low : low | 128);
  } while (rest !== 0n);
  return Buffer.from(parts);
}
