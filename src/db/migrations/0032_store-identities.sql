CREATE TABLE "store_identities" (
	"store" text PRIMARY KEY NOT NULL,
	"marker" text NOT NULL,
	"location" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
