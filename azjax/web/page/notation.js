// Positions in text, FEN of chess and SFEN of shogi, as the numbers from which the rules set them up.
// They mend and refuse what azjax/files/positions.py mends and refuses, with the same words.

/** The inputs of the model that sets up a position: its view, and numbers by their names. A text
 *  that is no position is an Error in one line. `cells` is the number of cells of a view. */
export function readPosition(text, notation, cells) {
  const fields = text.trim().replace(/^((position|s?fen)\s+)+/i, "").split(/\s+/);
  const size = Math.sqrt(cells);
  const read = (given) => (notation === "FEN" ? readFen(given, size) : readSfen(given));
  try {
    return read(fields);
  } catch (error) {
    try {
      return read(notation === "FEN" ? mendedFen(fields, size) : mendedSfen(fields));
    } catch {
      throw new Error(`${notation}: ${error.message}`);
    }
  }
}

function require(holds, reason) {
  if (!holds) throw new Error(reason);
}

const fits = (value, low, high) => /^[0-9]{1,9}$/.test(value) && low <= +value && +value <= high;

function readNumber(value, name, low, high, range) {
  require(fits(value, low, high), `the ${name} must be ${range ?? `${low} to ${high}`}, not '${value}'`);
  return +value;
}

/** The codes of the cells, rank by rank; `readRank` gives the codes and the empty runs of a rank. */
function readBoard(board, size, nameOf, readRank) {
  const ranks = board.split("/");
  require(ranks.length === size, `the board must have ${size} ranks, not ${ranks.length}`);
  return ranks.flatMap((rank, row) => {
    const codes = readRank(rank, `rank ${nameOf(row)}`);
    require(codes.length === size, `rank ${nameOf(row)} must have ${size} squares, not ${codes.length}`);
    return codes;
  });
}

const count = (list, wanted) => list.filter((found) => found === wanted).length;
const empty = (digit) => new Array(+digit).fill(0);

function readFen(fields, size) {
  const names = "(board, side to move, castling, en passant, halfmove clock, move number)";
  require(fields.length >= 4 && fields.length <= 6, `it must have 4 to 6 fields ${names}, not ${fields.length}`);
  const [board, turn, rights, square, clock = "0", move = "1"] = fields;
  const view = readPieces(board, size);
  require(turn === "w" || turn === "b", `the side to move must be w or b, not '${turn}'`);
  const isWhite = turn === "w";
  for (const [name, king] of [["White", 6], ["Black", 12]]) {
    const kings = count(view, king);
    require(kings === 1, `${name} must have one king, not ${kings}`);
  }
  const edges = [...view.slice(0, size), ...view.slice(-size)];
  require(!edges.some((code) => code % 6 === 1), `no pawn may stand on rank 1 or ${size}`);
  return {
    view,
    castling: readCastling(rights, view, size, isWhite),
    passed: readPassed(square, view, size, isWhite),
    clock: readNumber(clock, "halfmove clock", 0, 100),
    ply: 2 * readNumber(move, "move number", 1, 9999) - 1 - isWhite,
  };
}

function readPieces(board, size) {
  return readBoard(board, size, (row) => size - row, (rank, name) => {
    const wrong = rank.match(new RegExp(`[^pnbrqkPNBRQK1-${size}]`));
    const runs = `pieces are pnbrqk or PNBRQK, and runs of empty squares 1 to ${size}`;
    require(!wrong, `${name} has '${wrong}'; ${runs}`);
    require(!/\d\d/.test(rank), `${name} has two numbers in a row; write their sum`);
    return [...rank].flatMap((letter) => (+letter ? empty(letter) : ".PNBRQKpnbrqk".indexOf(letter)));
  });
}

/** The fields of a FEN without rights, squares and counters that cannot be. */
function mendedFen(fields, size) {
  const [board, ...rest] = fields.at(-1).endsWith(";") ? fields.slice(0, 4) : fields; // EPD's operations
  const turn = (rest.shift() ?? "w").toLowerCase();
  const next = (pattern) => (pattern.test(rest[0] ?? "") ? rest.shift() : "-");
  const files = next(/^(-|[KQkqA-Ha-h]+)$/).replace(/[HAha]/g, (file) => "KQkq"["HAha".indexOf(file)]);
  const square = next(/^(-|[a-h][1-8])$/);
  const number = (usual, low, high) => {
    const given = rest.shift() ?? usual;
    return fits(given, low, high) ? given : usual;
  };
  const numbers = [number("0", 0, 100), number("1", 1, 9999)];
  const view = readPieces(board, size);
  const rights = [..."KQkq"].filter((right) => files.includes(right) && size === 8 && canCastle(view, right));
  const isPassed = size === 8 && mayCapture(view, square, turn === "w");
  return [board, turn, rights.join("") || "-", isPassed ? square : "-", ...numbers, ...rest];
}

/** Whether king and rook of a castling right stand where they began. */
function canCastle(view, right) {
  const [first, king, rook] = right < "a" ? [56, 6, 4] : [0, 12, 10];
  return view[first + 4] === king && view[first + ("Kk".includes(right) ? 7 : 0)] === rook;
}

/** Whether a pawn may have just passed a square. */
function mayCapture(view, square, isWhite) {
  const column = "abcdefgh".indexOf(square[0]);
  const [start, passed, now] = [1, 2, 3].map((row) => view[8 * (isWhite ? row : 7 - row) + column]);
  return square[1] === (isWhite ? "6" : "3") && !start && !passed && now === (isWhite ? 7 : 1);
}

/** The rights as bits, those of the side to move first. */
function readCastling(rights, view, size, isWhite) {
  if (rights === "-") return 0;
  require(size === 8, `there is no castling here: write -, not '${rights}'`);
  require(/^K?Q?k?q?$/.test(rights), `castling must be - or some of KQkq in this order, not '${rights}'`);
  let bits = 0;
  for (const right of rights) {
    const [rank, file] = [right < "a" ? 1 : 8, "Kk".includes(right) ? "h" : "a"];
    require(canCastle(view, right), `castling ${right} needs a king on e${rank} and a rook on ${file}${rank}`);
    bits |= 1 << (isWhite ? "KQkq" : "kqKQ").indexOf(right);
  }
  return bits;
}

/** The square that a pawn has just passed, counted from the side to move. */
function readPassed(square, view, size, isWhite) {
  if (square === "-") return size * size;
  require(size === 8, `there is no en passant here: write -, not '${square}'`);
  const rank = isWhite ? 6 : 3;
  const isOnRank = /^[a-h][36]$/.test(square) && +square[1] === rank;
  require(isOnRank, `en passant must be - or a square on rank ${rank}, not '${square}'`);
  require(mayCapture(view, square, isWhite), `en passant on ${square}: no pawn has just passed that square`);
  return 2 * size + "abcdefgh".indexOf(square[0]);
}

const SHOGI = "PLNSGBRK"; // in the order of their codes; promoted pieces have those from 9, G and K left out

function readSfen(fields) {
  require(fields.length === 3 || fields.length === 4, "must hold board, side to move, hands and move number");
  const [board, turn, held, move = "1"] = fields;
  const cells = readBoard(board, 9, (row) => "abcdefghi"[row], (rank, name) => {
    const pieces = rank.match(/\+?[A-Za-z]|[1-9]/g) ?? [];
    require(pieces.join("") === rank, `${name} must consist of pieces and numbers, not '${rank}'`);
    return pieces.flatMap((piece) => (+piece ? empty(piece) : readPiece(piece)));
  });
  require(turn === "b" || turn === "w", `the side to move must be b or w, not '${turn}'`);
  const hands = readHands(held);
  const ply = readNumber(move, "move number", 1, 513, "from 1 to 513") - 1;
  requirePossible(cells, hands);
  return { view: [...cells, ...hands], ply, player: +(turn === "w") };
}

/** The fields of an SFEN with those that are missing, and a move number that can be. */
function mendedSfen([board, turn = "b", held = "-", move = "1", ...rest]) {
  return [board, turn, held, fits(move, 1, 513) ? move : "1", ...rest];
}

function readPiece(piece) {
  const letter = piece.at(-1).toUpperCase();
  const kinds = piece[0] === "+" ? "........PLNSBR" : SHOGI;
  require(SHOGI.includes(letter), `'${piece}' is no piece; the pieces are P, L, N, S, G, B, R and K`);
  require(kinds.includes(letter), `'${piece}' is no piece: ${letter} does not promote`);
  return kinds.indexOf(letter) + (piece.at(-1) === letter ? 1 : 15);
}

/** How many pieces of each kind are in hand, from the rooks to the pawns; sente's, then gote's. */
function readHands(held) {
  const hands = new Array(14).fill(0);
  if (held === "-") return hands;
  const wrong = `the hands must be like 'R2Pb3p' or '-', not '${held}'`;
  require(/^(([1-9][0-9]?)?[PLNSGBRplnsgbr])+$/.test(held), wrong);
  for (const [, number, letter] of held.matchAll(/([0-9]*)([A-Za-z])/g)) {
    hands["RBGSNLPrbgsnlp".indexOf(letter)] += +(number || 1);
  }
  return hands;
}

function requirePossible(cells, hands) {
  const plain = cells.map((code) => (code ? "PLNSGBRKPLNSBR"[(code - 1) % 14] : ""));
  for (const [name, added] of [["sente", 0], ["gote", 14]]) {
    const kings = count(cells, 8 + added);
    require(kings === 1, `${name} must have one king, not ${kings}`);
    for (let file = 0; file < 9; file++) {
      const pawns = cells.filter((code, cell) => cell % 9 === file && code === 1 + added);
      require(pawns.length < 2, `${name} has two pawns on a file`);
    }
    for (const [kind, rows] of [[1, 1], [2, 1], [3, 2]]) {
      const last = added ? cells.slice(-9 * rows) : cells.slice(0, 9 * rows);
      require(!last.includes(kind + added), `${name} has a ${SHOGI[kind - 1]} that could never move on`);
    }
  }
  for (const [i, total] of [18, 4, 4, 4, 4, 2, 2].entries()) {
    const number = count(plain, SHOGI[i]) + hands[6 - i] + hands[13 - i];
    require(number <= total, `there are ${number} ${SHOGI[i]}, more than ${total}`);
  }
}
