# Fits what its standard input says, a line each, and answers "done":
#   fit TABLE ROWS WEIGHT INTERCEPT CHAINS DRAWS CORES SEED   TABLE: doubles by column, the last column is y
#   draws FILE                                                doubles (draw, chain, parameter), the draw varying first
suppressPackageStartupMessages(library(rstanarm))
input <- file("stdin", open = "r")
done <- function() {
  cat("done\n")
  flush(stdout())
}
done()
while (length(line <- readLines(input, n = 1)) == 1) {
  words <- strsplit(line, "\t")[[1]]
  if (words[1] == "fit") {
    number <- as.numeric(words[3:9])
    cells <- readBin(words[2], "double", file.size(words[2]) / 8)
    table <- as.data.frame(matrix(cells, nrow = number[1]))
    names(table)[ncol(table)] <- "y"
    fitted <- stan_glm(
      y ~ ., data = table, family = binomial(),
      prior = normal(0, number[2], autoscale = FALSE),
      prior_intercept = normal(0, number[3], autoscale = FALSE),
      chains = number[4], iter = 2 * number[5], warmup = number[5], cores = number[6], seed = number[7], refresh = 0
    )
  } else {
    writeBin(as.vector(as.array(fitted)), words[2])
  }
  done()
}
