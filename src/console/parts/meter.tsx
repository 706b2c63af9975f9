/** How much of a limit is used. The words beside it say the same. */
export function Meter({ used, limit }: { readonly used: number; readonly limit: number }) {
  const share = Math.min(1, limit > 0 ? used / limit : 0);
  return (
    <span class="meter" aria-hidden="true">
      <span style={{ inlineSize: `${Math.round(share * 100)}%` }} />
    </span>
  );
}
