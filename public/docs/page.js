// The page of /docs: Swagger UI on this service's own openapi.json. A key that is entered is kept in this page's memory alone.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#operations",
  deepLinking: true,
  docExpansion: "list",
  filter: true,
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  validatorUrl: null,
});
