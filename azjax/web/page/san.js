// Moves of chess as players write them. A board has the letters of FEN by the names of its squares;
// moves are all legal ones, in UCI's letters. The rules are those of azjax_envs/chess/san.py.

const FILES = "abcdefgh";
const STRAIGHT = [[0, 1], [0, -1], [1, 0], [-1, 0]];
const DIAGONAL = [[1, 1], [1, -1], [-1, 1], [-1, -1]];
const JUMPS = [[1, 2], [1, -2], [-1, 2], [-1, -2], [2, 1], [2, -1], [-2, 1], [-2, -1]];
const STEPS = { R: STRAIGHT, B: DIAGONAL, Q: [...STRAIGHT, ...DIAGONAL], N: JUMPS };
STEPS.K = STEPS.Q;

/** The board of a view, the codes of its cells. */
export function boardOf(view) {
  const size = Math.sqrt(view.length);
  const pieces = Array.from(view, (code, cell) => [
    FILES[cell % size] + (size - Math.floor(cell / size)),
    ".PNBRQKpnbrqk"[code % 16],
  ]);
  return Object.fromEntries(pieces.filter(([, letter]) => letter !== "."));
}

const isWhite = (letter) => letter < "a";
const castles = (move, board) =>
  "Kk".includes(board[move.slice(0, 2)]) && Math.abs(FILES.indexOf(move[0]) - FILES.indexOf(move[2])) === 2
    ? move[2]
    : "";

/** The legal moves that a text can mean. */
export function readSan(text, board, moves) {
  const spelled = text.trim().replace(/[♔-♟]/g, (piece) => "KQRBNPKQRBNP"[piece.codePointAt(0) - 0x2654]);
  const plain = spelled.replace(/[‐-―−]/g, "-").replace(/×/g, "x");
  const uci = plain.toLowerCase().replaceAll("-", "");
  if (moves.includes(uci)) return [uci];
  const bare = plain.replace(/(e\.?p\.?|(dbl|dis)?\.?ch\.?|mate|[^\p{L}\p{N}_)])+$/iu, "");
  const castling = bare.match(/^[O0o](-?)[O0o](?:\1([O0o]))?$/);
  if (castling) return moves.filter((move) => castles(move, board) === (castling[2] ? "c" : "g"));
  const found = readPlain(bare, board, moves);
  return found.length ? found : readPlain(bare.slice(0, 1).toUpperCase() + bare.slice(1), board, moves);
}

function readPlain(text, board, moves) {
  const takes = text.match(/^([a-h])x?([a-h])$/);
  if (takes) return moves.filter((m) => m[0] === takes[1] && m[2] === takes[2] && "Pp".includes(board[m.slice(0, 2)]));
  const match = text.match(
    /^([KQRBNP]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:[=/]?([QRBNqrbn])|[=/]?\(([QRBNqrbn])\))?$/,
  );
  if (!match) return [];
  let [, piece, file, rank, target] = match;
  const promotion = (match[5] ?? match[6] ?? "").toLowerCase();
  const start = file + rank;
  if (board[start] && !piece) piece = board[start].toUpperCase();
  const pair = `${board[start] ?? ""}${board[target] ?? ""}`;
  if (pair === "KR" || pair === "kr") target = (target > start ? "g" : "c") + target[1]; // as in Chess960
  return moves.filter(
    (m) =>
      m.slice(2, 4) === target &&
      board[m.slice(0, 2)].toUpperCase() === (piece || "P") &&
      m[0] === (file || m[0]) &&
      m[1] === (rank || m[1]) &&
      m.slice(4) === promotion &&
      (file || !castles(m, board)),
  );
}

/** The name of a legal move. */
export function writeSan(move, board, moves, size) {
  const [start, target] = [move.slice(0, 2), move.slice(2, 4)];
  const piece = board[start].toUpperCase();
  const side = castles(move, board);
  let name = side === "g" ? "O-O" : "O-O-O";
  if (!side) {
    const takes = board[target] || (piece === "P" && start[0] !== target[0]);
    name = piece === "P" ? (takes ? start[0] : "") : piece + distinction(start, twins(move, board, moves));
    name += (takes ? "x" : "") + target + (move[4] ? `=${move[4].toUpperCase()}` : "");
  }
  const later = after(move, board);
  const white = !isWhite(board[start]);
  if (!inCheck(later, white, size)) return name;
  const isDouble = piece === "P" && Math.abs(start[1] - target[1]) === 2;
  const passed = isDouble ? start[0] + (+start[1] + +target[1]) / 2 : "";
  return name + (canEscape(later, white, size, passed) ? "+" : "#");
}

function twins(move, board, moves) {
  const others = moves.filter((m) => m.slice(2, 4) === move.slice(2, 4) && m.slice(0, 2) !== move.slice(0, 2));
  return others.map((m) => m.slice(0, 2)).filter((square) => board[square] === board[move.slice(0, 2)]);
}

function distinction(start, others) {
  if (!others.length) return "";
  if (others.every((other) => other[0] !== start[0])) return start[0];
  return others.every((other) => other[1] !== start[1]) ? start[1] : start;
}

function after(move, board) {
  const [start, target] = [move.slice(0, 2), move.slice(2, 4)];
  const { [start]: piece, ...later } = board;
  if ("Pp".includes(piece) && start[0] !== target[0] && !board[target]) delete later[target[0] + start[1]];
  const side = castles(move, board);
  if (side) {
    const [rook, corner] = side === "g" ? ["f", "h"] : ["d", "a"];
    later[rook + start[1]] = later[corner + start[1]];
    delete later[corner + start[1]];
  }
  const promoted = isWhite(piece) ? move.slice(4).toUpperCase() : move.slice(4);
  later[target] = promoted || piece;
  return later;
}

/** The squares that the piece on a square attacks. */
function reached(square, board, size) {
  const piece = board[square];
  const forward = piece === "P" ? 1 : -1;
  const steps = STEPS[piece.toUpperCase()] ?? [[-1, forward], [1, forward]];
  const most = "QRBqrb".includes(piece) ? size : 2;
  const squares = [];
  for (const [x, y] of steps) {
    for (let distance = 1; distance < most; distance++) {
      const [column, rank] = [FILES.indexOf(square[0]) + distance * x, +square[1] + distance * y];
      if (column < 0 || column >= size || rank < 1 || rank > size) break;
      squares.push(FILES[column] + rank);
      if (board[FILES[column] + rank]) break;
    }
  }
  return squares;
}

function inCheck(board, white, size) {
  const pieces = Object.entries(board);
  const [king] = pieces.find(([, piece]) => piece === (white ? "K" : "k"));
  return pieces.some(([square, piece]) => isWhite(piece) !== white && reached(square, board, size).includes(king));
}

/** Whether a side in check has a move; `passed` is a square of en passant, or "". */
function canEscape(board, white, size, passed) {
  const own = Object.entries(board).filter(([, piece]) => isWhite(piece) === white);
  return own.some(([start, piece]) => {
    let targets = reached(start, board, size).filter((t) => !board[t] || isWhite(board[t]) !== white);
    if ("Pp".includes(piece)) targets = targets.filter((t) => board[t] || t === passed).concat(pushes(start, board, white, size));
    return targets.some((t) => !inCheck(after(start + t, board), white, size));
  });
}

function pushes(start, board, white, size) {
  const step = white ? 1 : -1;
  const most = size === 8 && +start[1] === (white ? 2 : 7) ? 2 : 1;
  const squares = [1, 2].slice(0, most).map((count) => start[0] + (+start[1] + count * step));
  return squares.slice(0, squares.findIndex((square) => board[square]) + 1 || most).filter((square) => !board[square]);
}
