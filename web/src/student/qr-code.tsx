import { encode } from 'uqr'

const border = 4
/** A long text needs many dots; larger dots help a camera more than redundancy does. */
const longText = 200

/** Always dark on light, even in dark mode: many cameras need it. */
export function QrCode({ value, label }: { value: string; label: string }) {
  const { data, size } = encode(value, { ecc: value.length > longText ? 'L' : 'M', border })
  const path = data
    .flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('')
  return (
    <svg role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
