/** A node: the tokens of the edge that leads to it, and the holders whose tokens end here. */
interface Node<H> {
  edge: Int32Array;
  parent: Node<H> | null;
  readonly children: Map<number, Node<H>>;
  readonly holders: Set<H>;
  /** Last use of the path to this node, as an increasing number. Inherited from removed longer paths. */
  usedAt: number;
}

/** A holder that shares a prefix with the tokens looked up. */
export interface PrefixMatch<H> {
  holder: H;
  /** Length of the common prefix in tokens. */
  length: number;
}

/**
 * Path-compressed radix tree of token sequences. Each sequence has one or more holders. Paths without a holder are
 * removed, so all counts are exact.
 */
export class RadixTree<H> {
  readonly #root: Node<H> = newNode<H>(new Int32Array(0), null, 0);
  readonly #ends = new Map<H, Node<H>>();
  #tokens = 0;

  /** Number of holders. */
  get size(): number {
    return this.#ends.size;
  }

  /** Number of distinct tokens: a shared prefix counts once. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Number of sequences that are not a prefix of another one. */
  get leaves(): number {
    let count = 0;
    const seen = new Set(this.#ends.values());
    for (const node of seen) if (node.children.size === 0) count += 1;
    return count;
  }

  /** Sets the tokens of a holder. `usedAt` becomes the last use of every node on the path. */
  set(holder: H, tokens: ArrayLike<number>, usedAt: number): void {
    this.remove(holder);
    const path = Int32Array.from(tokens);
    let node = this.#root;
    let depth = 0;
    while (depth < path.length) {
      const child = node.children.get(path[depth] ?? 0);
      if (child === undefined) {
        const leaf = newNode(path.subarray(depth), node, usedAt);
        node.children.set(path[depth] ?? 0, leaf);
        this.#tokens += leaf.edge.length;
        node = leaf;
        break;
      }
      const shared = commonLength(child.edge, path, depth);
      node = shared < child.edge.length ? split(child, shared) : child;
      node.usedAt = usedAt;
      depth += shared;
    }
    node.holders.add(holder);
    this.#ends.set(holder, node);
  }

  /** Removes a holder and the tokens that only it had. Their last use is inherited by what remains of the path. */
  remove(holder: H): void {
    const node = this.#ends.get(holder);
    if (node === undefined) return;
    this.#ends.delete(holder);
    node.holders.delete(holder);
    let empty = node;
    while (empty.holders.size === 0 && empty.children.size === 0 && empty.parent !== null) {
      this.#tokens -= empty.edge.length;
      empty.parent.children.delete(empty.edge[0] ?? 0);
      empty = empty.parent;
    }
    this.#join(empty);
  }

  /** Merges a node that has no holder and one child with that child. */
  #join(node: Node<H>): void {
    const [only] = node.children.values();
    if (node.parent === null || node.holders.size > 0 || node.children.size !== 1 || only === undefined) return;
    const edge = new Int32Array(node.edge.length + only.edge.length);
    edge.set(node.edge);
    edge.set(only.edge, node.edge.length);
    only.edge = edge;
    only.parent = node.parent;
    // A shared prefix was used later than its last holder: it keeps the later time.
    only.usedAt = Math.max(only.usedAt, node.usedAt);
    node.parent.children.set(edge[0] ?? 0, only);
  }

  /** Returns the last use of a holder; 0 for an unknown one. */
  usedAt(holder: H): number {
    return this.#ends.get(holder)?.usedAt ?? 0;
  }

  /** Sets the last use of all tokens of a holder. */
  touch(holder: H, usedAt: number): void {
    for (let node = this.#ends.get(holder) ?? null; node !== null; node = node.parent) node.usedAt = usedAt;
  }

  /** Yields every holder that shares at least one token with `tokens`, by descending length of the common prefix. */
  *matches(tokens: ArrayLike<number>): Generator<PrefixMatch<H>, void, undefined> {
    let node = this.#root;
    let depth = 0;
    const passed: { node: Node<H>; length: number; without: Node<H> | null }[] = [];
    while (depth < tokens.length) {
      const child = node.children.get(tokens[depth] ?? 0);
      if (child === undefined) break;
      passed.push({ node, length: depth, without: child });
      const shared = commonLength(child.edge, tokens, depth);
      depth += shared;
      node = child;
      if (shared < child.edge.length) break;
    }
    passed.push({ node, length: depth, without: null });
    for (const { node: from, length, without } of passed.reverse()) {
      if (length === 0) return;
      for (const holder of holdersFrom(from, without)) yield { holder, length };
    }
  }

  /** Counts the tokens of `holder` from `depth` on that no other holder has for which `counts` is true. */
  exclusiveTokens(holder: H, depth: number, counts: (other: H) => boolean): number {
    const end = this.#ends.get(holder);
    if (end === undefined) return 0;
    let length = 0;
    for (let node: Node<H> | null = end; node !== null; node = node.parent) length += node.edge.length;
    let shared = length;
    let below: Node<H> | null = null;
    for (let node: Node<H> | null = end; node !== null; node = node.parent) {
      for (const other of holdersFrom(node, below)) {
        if (other !== holder && counts(other)) return Math.max(0, length - Math.max(shared, depth));
      }
      shared -= node.edge.length;
      below = node;
    }
    return Math.max(0, length - depth);
  }

  /** Yields the holders whose tokens are a prefix of the tokens of `holder`. */
  *prefixesOf(holder: H): Generator<H, void, undefined> {
    const end = this.#ends.get(holder) ?? null;
    for (let node = end; node !== null; node = node.parent) {
      for (const other of node.holders) if (other !== holder) yield other;
    }
  }

  /** Yields all holders in insertion order. */
  holders(): IterableIterator<H> {
    return this.#ends.keys();
  }
}

function newNode<H>(edge: Int32Array, parent: Node<H> | null, usedAt: number): Node<H> {
  return { edge, parent, children: new Map(), holders: new Set(), usedAt };
}

/** Splits the edge to `node` after `length` tokens and returns the new node. */
function split<H>(node: Node<H>, length: number): Node<H> {
  const middle = newNode<H>(node.edge.subarray(0, length), node.parent, node.usedAt);
  node.parent?.children.set(middle.edge[0] ?? 0, middle);
  node.edge = node.edge.subarray(length);
  node.parent = middle;
  middle.children.set(node.edge[0] ?? 0, node);
  return middle;
}

function commonLength(edge: Int32Array, tokens: ArrayLike<number>, from: number): number {
  const most = Math.min(edge.length, tokens.length - from);
  let length = 0;
  while (length < most && edge[length] === tokens[from + length]) length += 1;
  return length;
}

/** Yields the holders at a node and below it, except those below `without`. */
function* holdersFrom<H>(node: Node<H>, without: Node<H> | null): Generator<H, void, undefined> {
  const stack = [node];
  for (let here = stack.pop(); here !== undefined; here = stack.pop()) {
    yield* here.holders;
    for (const child of here.children.values()) if (child !== without) stack.push(child);
  }
}
