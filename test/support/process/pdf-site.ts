import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** A red page with a word. Readers find the objects of a file without a table of them. */
const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Contents 4 0 R
/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj
4 0 obj<</Length 71>>stream
1 0 0 rg 0 0 400 400 re f 0 g BT /F1 40 Tf 50 200 Td (PDF words) Tj ET
endstream endobj
trailer<</Root 1 0 R>>
%%EOF`;

/** A site that has one PDF. */
export async function startPdfSite() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/pdf" }).end(PDF);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const addresses = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    addresses,
    url: `http://${addresses}/a.pdf`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
